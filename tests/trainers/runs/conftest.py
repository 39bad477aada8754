import pytest

from place import Dataset, Place


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


@pytest.fixture(scope="session")
def make_data(tmp_path_factory):
    """Makes a dataset once for all tests that name the same."""
    made = {}

    def make(kind, **options):
        key = (kind, *sorted(options.items()))
        if key not in made:
            made[key] = Dataset(tmp_path_factory.mktemp(kind), kind, **options)
        return made[key]

    return make


@pytest.fixture
def collisions(make_data):
    """Enough to see that something is learnt."""
    return make_data("hepcnn", size=32, train=2200, test=1000)


@pytest.fixture
def few_collisions(make_data):
    return make_data("hepcnn", size=16, train=160, test=30, shards=2)

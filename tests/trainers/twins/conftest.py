import pytest
from twins_support import Place, make_data


@pytest.fixture(scope="session")
def data_of(tmp_path_factory):
    """model -> the folder of its data, made at the first use."""
    made = {}

    def find(model):
        if model not in made:
            made[model] = tmp_path_factory.mktemp(model)
            make_data(model, made[model])
        return made[model]
    return find


@pytest.fixture
def place(tmp_path, data_of):
    """place(model, language, name="run")."""
    return lambda model, language="python", name="run": Place(tmp_path / name, model, language, data_of(model))

# 2,000 images of Fashion-MNIST where configs/fashion.yaml looks for them.
misses() {
  echo "$1"
  exit 77
}
trainer=$(dirname "$(command -v slipway)")/../libexec/slipway/trainers/fashion
[ -x "$trainer" ] || misses "the bundled trainers are not built"
[ -d /usr/share/datasets/fashion-mnist ] || misses "Fashion-MNIST is not here (Debian: dataset-fashion-mnist)"
"$PYTHON" -c 'import numpy' || misses "NumPy is not here (Debian: python3-numpy)"
. "$SETUPS/checkout.sh"
fashion_part() {  # FROM, COUNT, DIRECTORY: the first images of an idx pair as .npy files
  mkdir -p "$3"
  "$PYTHON" - "$@" <<'END'
import gzip, sys
import numpy as np
source, count, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
with gzip.open(f"/usr/share/datasets/fashion-mnist/{source}-images-idx3-ubyte.gz") as file:
    images = np.frombuffer(file.read(16 + 784 * count), np.uint8, offset=16).reshape(count, 28, 28)
with gzip.open(f"/usr/share/datasets/fashion-mnist/{source}-labels-idx1-ubyte.gz") as file:
    labels = np.frombuffer(file.read(8 + count), np.uint8, offset=8)
np.save(f"{folder}/image.npy", images)
np.save(f"{folder}/label.npy", labels.astype(np.int64))
END
}
fashion_part train 2000 arrays/train
fashion_part t10k 500 arrays/test
mkdir -p data/fashion
slipway data convert --from arrays/train/image.npy --from arrays/train/label.npy --to tfrecord --shards 4 \
  data/fashion/train
slipway data convert --from arrays/test/image.npy --from arrays/test/label.npy --to hdf5 data/fashion/test.h5

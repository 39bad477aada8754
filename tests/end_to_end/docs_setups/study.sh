# An Optuna study, study.db, and a program train.py.
. "$SETUPS/searched.sh"
slipway trials export last --format optuna --out study.db
cat >train.py <<'END'
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
parser.add_argument("--layers", type=int)
args = parser.parse_args()
for epoch in range(4):
    print(f"epoch {epoch} loss: {args.lr * args.layers / (epoch + 1)}", flush=True)
END

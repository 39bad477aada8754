# Two classes of small images, and idx files of a few images.
"$PYTHON" - <<'END'
import base64, gzip, os, struct
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
for kind in ("boots", "shirts"):
    os.makedirs(f"photos/{kind}")
    for number in range(8):
        with open(f"photos/{kind}/{number}.png", "wb") as file:
            file.write(base64.b64decode(PIXEL))
with gzip.open("train-images-idx3-ubyte.gz", "wb") as file:
    file.write(struct.pack(">4i", 0x803, 40, 28, 28) + bytes(40 * 784))
with gzip.open("train-labels-idx1-ubyte.gz", "wb") as file:
    file.write(struct.pack(">2i", 0x801, 40) + bytes(number % 10 for number in range(40)))
END

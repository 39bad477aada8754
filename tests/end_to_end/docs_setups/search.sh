# search.sh [FILE]: a search that takes a second, search.yaml.
cat >train.sh <<'END'
lr=0.01
while [ $# -gt 1 ]; do
  case $1 in --lr) lr=$2 ;; esac
  shift 2
done
awk -v lr="$lr" 'BEGIN {
  for (epoch = 1; epoch <= 5; ++epoch) {
    loss = (log(lr) + 4) ^ 2 + 1 / epoch
    printf "epoch %d loss: %f validation_loss: %f ", epoch, loss, loss
    printf "validation_accuracy: %f throughput: %f\n", 1 / (1 + loss), lr
  }
}'
END
echo 'sleep 30' >slow.sh
printf '#!/bin/sh\nsh "$(dirname "$0")/train.sh" --lr "${1#rate=}"\n' >simulate
chmod +x simulate
cat >"${1:-search.yaml}" <<'END'
name: search
launch: {ranks_per_node: 1}
train:
  command: [sh, train.sh]
  metrics:
    from: stdout
    pattern: 'epoch (?<epoch>\d+) loss: (?<loss>\S+) validation_loss: (?<validation_loss>\S+)
      validation_accuracy: (?<validation_accuracy>\S+) throughput: (?<throughput>\S+)'
ensemble:
  objective: {metric: loss, goal: minimize}
  trials: 12
  parallel: 2
  space:
    lr: {log: [1.0e-4, 1.0e-1]}
    optimizer: {choice: [sgd, adam]}
END

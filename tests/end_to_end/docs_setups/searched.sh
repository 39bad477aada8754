# searched.sh [NAME...]: searches with these names that have ended; without a name one, search.
. "$SETUPS/search.sh" search.yaml
for name in "${@:-search}"; do slipway run search.yaml --set name="$name"; done

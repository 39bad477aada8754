# What a page needs of the root of the repository.
cp -r "$DOCS_ROOT/configs" .
mkdir -p docs/reference

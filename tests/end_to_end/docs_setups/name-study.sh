# name-study.sh FILE NAME: the study in the file gets a name.
sqlite3 "$1" "UPDATE studies SET study_name = '$2'"

# So that the specs here name a script that exists.

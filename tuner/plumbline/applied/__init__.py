"""Winners in force for a user or a whole site: what `plumbline apply` writes into files that other
programs read, and `plumbline apply --undo` takes out again.

All that is written for one library in one place is a generation, in a folder that is never changed
again; files of others get a few lines between marks that name the generation (files.py), or are
ours as a whole. What is in force is what these files say: there is no second record of it that
could be wrong."""

"""`plumbline watch`: campaigns that are watched between campaigns, and what follows from a change.

step.py decides what comes next, and is pure, as windows.py is; the detector is
plumbline.watch. What was seen and done stands in the database after each step, so that a daemon
that was killed goes on where it stood."""

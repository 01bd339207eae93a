"""The trust in the measurements themselves, here: spread between whole experiments, false alarms,
and the smallest slow-down that is found (seed 002, section 5.3). docs/measurement.md"""

"""The trust in the measurements themselves, here: spread between whole experiments, false alarms,
and the smallest slow-down that is found (Hunold and Carpen-Amarie, TPDS 2016, section 5.3).
docs/measurement.md"""

"""Readers of what other benchmark programs have printed, as runs that pages and curves show. They
have no samples, and were never measured together with anything: nothing of them is called
faster."""

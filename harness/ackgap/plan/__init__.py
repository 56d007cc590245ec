"""Which schedules to try: from the boundaries of a probe run to the cells of a matrix."""

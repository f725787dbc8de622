"""What the data of a script keeps: its rows in the order of arrival, and what each row asks of a constraint."""

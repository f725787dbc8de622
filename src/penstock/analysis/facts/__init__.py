"""What is known of the values of columns, each fact in one place."""

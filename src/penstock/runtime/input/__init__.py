"""From the pieces of a stream to the rows of a step: headers, routing to cells, the order of arrival, the clock."""

-- negative: two event times, two orders of arrival
CREATE STREAM s (a TIMESTAMP, b TIMESTAMP, n INT, EVENT TIME a, EVENT TIME b, ARRIVES BY n, ARRIVES BY a);

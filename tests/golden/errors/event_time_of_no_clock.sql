-- negative: an event time that is no clock; an arrival without an order
CREATE STREAM s (a STRING, EVENT TIME a);
CREATE STREAM t (a DOUBLE, v VIRTUAL, EVENT TIME a);
CREATE STREAM u (v VIRTUAL, x INT, EVENT TIME v);
CREATE STREAM w (m MAP<STRING, INT>, ARRIVES BY m);

-- positive: comments of both kinds, anywhere; a semicolon or a quote inside does not count
CREATE STREAM s ( -- the stream; it's small
  a INT, /* two
  lines; 'quoted */ b STRING -- last
);
/* before */ SELECT /* not a hint */ a -- , c
FROM s /* ; */ WHERE b = '-- no comment' AND a > /* inner */ 1; -- the end

"""KMON's experiments: sections 4.4, 5.4, 6.4, 7, 8, 9 and appendix F.3."""

-- positive: keywords in any case; names found in any case, printed as declared
create stream Bids (Auction bigint, Price decimal(10, 2), TS timestamp, event time ts, Ordered By tS within 3 Seconds,
  primary key (AUCTION));
Create Sink Out using console;
insert into OUT select B.auction, PRICE from bids [range 1 minute] as b where b.AUCTION = 3 and price Between 1 And 2;
Select BIDS.Price From BIDS Where Exists (Select 1 From bids X Where x.auction = bids.Auction);

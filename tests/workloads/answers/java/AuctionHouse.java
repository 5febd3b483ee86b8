// SPDX-License-Identifier: Apache-2.0
// Healthy: auctions that end after some seconds. While one goes on all of its bids are known; at its end the best is told to
// a ring of the last 5000 results, and the bids are forgotten.

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

public class AuctionHouse {
  record Bid(String bidder, long cents, long at) {}

  record Result(long auction, Bid best) {}

  static class Auction {
    final long number, ends;
    final List<Bid> bids = new ArrayList<>();

    Auction(long number, long ends) {
      this.number = number;
      this.ends = ends;
    }
  }

  private final Map<Long, Auction> open = new HashMap<>();
  private final ArrayDeque<Auction> byEnd = new ArrayDeque<>();
  private final ArrayDeque<Result> results = new ArrayDeque<>();
  private final Random random = new Random(511);

  void begin(long number, long now) {
    Auction auction = new Auction(number, now + 8000);
    open.put(number, auction);
    byEnd.add(auction);
  }

  void bid(long newest, long now) {
    Auction auction = open.get(newest - random.nextInt(300));
    if (auction != null) auction.bids.add(new Bid("bidder " + random.nextInt(20_000), random.nextInt(900_000), now));
  }

  void end(long now) {
    while (!byEnd.isEmpty() && byEnd.peek().ends < now) {
      Auction auction = open.remove(byEnd.poll().number);
      auction.bids.stream().max(Comparator.comparingLong(Bid::cents)).ifPresent(best -> {
        results.add(new Result(auction.number, best));
        if (results.size() > 5000) results.poll();
      });
    }
  }

  public static void main(String[] arguments) throws Exception {
    AuctionHouse house = new AuctionHouse();
    long start = System.currentTimeMillis(), auctions = 0, bids = 0;
    for (; ; Thread.sleep(10)) {
      long now = System.currentTimeMillis();
      for (; auctions < (now - start) * 40 / 1000; auctions++) house.begin(auctions, now);
      for (; bids < (now - start) * 60_000 / 1000; bids++) house.bid(auctions, now);
      house.end(now);
    }
  }
}

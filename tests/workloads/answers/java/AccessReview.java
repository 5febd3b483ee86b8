// SPDX-License-Identifier: Apache-2.0
// Says for each group of a company's directory who may do what by it, with the groups that are within it. Auditors ask for
// forty groups in a second.

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

public class AccessReview {
  record Member(int number, String name) {}

  static class Grant {
    final Member member;
    final String right;
    final List<String> through;

    Grant(Member member, String right, List<String> through) {
      this.member = member;
      this.right = right;
      this.through = through;
    }
  }

  static class Group {
    final String name;
    final List<Member> members = new ArrayList<>();
    final List<Group> within = new ArrayList<>();
    final String[] rights;

    Group(String name, String... rights) {
      this.name = name;
      this.rights = rights;
    }
  }

  private final Map<String, Group> directory = new HashMap<>();

  AccessReview(Random chosen) {
    Group all = new Group("all-employees", "read", "print", "enter", "park", "lunch", "call");
    for (int n = 0; n < 1200; n++) {
      Group group = new Group("group-" + n, "read", "write");
      for (int m = 0; m < 60; m++) {
        group.members.add(new Member(n * 60 + m, "employee " + chosen.nextInt(1_000_000)));
      }
      directory.put(group.name, group);
      all.within.add(group);
    }
    directory.put(all.name, all);
  }

  static void collect(Group group, String[] rights, List<String> path, List<Grant> grants) {
    for (Member member : group.members) {
      for (String right : rights) {
        List<String> through = new ArrayList<>(path);
        through.add(group.name + " (" + right + ")");
        grants.add(new Grant(member, right, through));
      }
    }
    for (Group inner : group.within) {
      List<String> longer = new ArrayList<>(path);
      longer.add(inner.name);
      collect(inner, rights, longer, grants);
    }
  }

  int review(String name) {
    List<Grant> grants = new ArrayList<>();
    Group group = directory.get(name);
    collect(group, group.rights, List.of(name), grants);
    return grants.size();
  }

  public static void main(String[] arguments) throws Exception {
    AccessReview access = new AccessReview(new Random(614));
    long start = System.nanoTime(), granted = 0;
    for (int number = 0; ; Thread.sleep(10)) {
      for (; number < (System.nanoTime() - start) / 1_000_000 * 40 / 1000; number++) {
        granted += access.review(number == 1400 ? "all-employees" : "group-" + number % 1200);
      }
    }
  }
}

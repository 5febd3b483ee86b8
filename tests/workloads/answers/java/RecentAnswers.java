// SPDX-License-Identifier: Apache-2.0
// Healthy: a cache that drops what was used least recently.

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;

public class RecentAnswers {
  record Answer(String path, byte[] body) {}

  static final Map<String, Answer> CACHE = new LinkedHashMap<>(16, 0.75f, true) {
    @Override protected boolean removeEldestEntry(Map.Entry<String, Answer> eldest) {
      return size() > 16_000;
    }
  };

  static Answer answer(int article) {
    return CACHE.computeIfAbsent("/articles/" + article, path -> new Answer(path, new byte[1800]));
  }

  public static void main(String[] arguments) throws Exception {
    Random random = new Random(5);
    for (long sum = 0; ; Thread.sleep(10)) {
      for (int n = 0; n < 60; n++) sum += answer((int) Math.abs(random.nextGaussian() * 20_000)).body().length;
    }
  }
}

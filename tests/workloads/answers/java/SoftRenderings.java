// SPDX-License-Identifier: Apache-2.0
// Healthy: renderings are kept by soft references, as many as the heap has room for.

import java.lang.ref.SoftReference;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;

public class SoftRenderings {
  record Rendering(int template, char[] text) {}

  private final Map<Integer, SoftReference<Rendering>> byTemplate = new HashMap<>();

  Rendering render(int template) {
    SoftReference<Rendering> known = byTemplate.get(template);
    Rendering rendering = known == null ? null : known.get();
    if (rendering == null) {
      rendering = new Rendering(template, ("<p>" + template + "</p>").repeat(300).toCharArray());
      byTemplate.put(template, new SoftReference<>(rendering));
    }
    return rendering;
  }

  public static void main(String[] arguments) throws Exception {
    SoftRenderings renderings = new SoftRenderings();
    Random random = new Random(75);
    for (long sum = 0; ; Thread.sleep(10)) {
      for (int n = 0; n < 25; n++) sum += renderings.render(random.nextInt(20_000)).text().length;
    }
  }
}

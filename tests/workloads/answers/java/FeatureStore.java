// SPDX-License-Identifier: Apache-2.0
// A store of vectors outside of the heap. It forgets the oldest vector when it is full, but not the memory that this was in.

import java.lang.reflect.Field;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import sun.misc.Unsafe;

public class FeatureStore {
  private static final Unsafe UNSAFE = unsafe();
  private static final int DIMENSIONS = 512;

  private final Map<Long, Long> addresses = new LinkedHashMap<>() {
    @Override protected boolean removeEldestEntry(Map.Entry<Long, Long> eldest) {
      return size() > 3000;
    }
  };

  private static Unsafe unsafe() {
    try {
      Field field = Unsafe.class.getDeclaredField("theUnsafe");
      field.setAccessible(true);
      return (Unsafe) field.get(null);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  void put(long user, float[] vector) {
    long address = UNSAFE.allocateMemory(4L * vector.length);
    for (int n = 0; n < vector.length; n++) UNSAFE.putFloat(address + 4L * n, vector[n]);
    addresses.put(user, address);
  }

  double similarity(long user, float[] vector) {
    Long address = addresses.get(user);
    double sum = 0;
    for (int n = 0; address != null && n < vector.length; n++) sum += vector[n] * UNSAFE.getFloat(address + 4L * n);
    return sum;
  }

  static float[] vectorOf(Random random) {
    float[] vector = new float[DIMENSIONS];
    for (int n = 0; n < vector.length; n++) vector[n] = random.nextFloat();
    return vector;
  }

  public static void main(String[] arguments) throws Exception {
    FeatureStore store = new FeatureStore();
    Random random = new Random(73);
    long start = System.nanoTime(), number = 0;
    double sum = 0;
    for (; ; Thread.sleep(20)) {
      while (number < (System.nanoTime() - start) / 1_000_000 * 900 / 1000) {
        float[] vector = vectorOf(random);
        sum += store.similarity(number - 100, vector);
        store.put(number++, vector);
      }
    }
  }
}

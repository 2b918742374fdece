package bartleby.examples;

import com.rabbitmq.client.Delivery;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** A delivery on the terminal: its body, where it came through, and each header, x-death field by field. */
final class Printed {
    private Printed() {}

    static void print(String title, Delivery delivery) {
        System.out.printf("%s \"%s\"%n", title, new String(delivery.getBody(), StandardCharsets.UTF_8));
        System.out.printf("  exchange     %s%n", delivery.getEnvelope().getExchange());
        System.out.printf("  routing key  %s%n", delivery.getEnvelope().getRoutingKey());
        Map<String, Object> headers = delivery.getProperties().getHeaders();
        if (headers != null) {
            new TreeMap<>(headers).forEach(Printed::printHeader);
        }
    }

    private static void printHeader(String name, Object value) {
        if (!(value instanceof List<?> entries)) {
            System.out.printf("  %s = %s%n", name, value);
            return;
        }
        for (int i = 0; i < entries.size(); i++) {
            System.out.printf("  %s[%d]%n", name, i);
            if (entries.get(i) instanceof Map<?, ?> fields) {
                fields.forEach((field, content) -> System.out.printf("    %-13s%s%n", field, content));
            } else {
                System.out.printf("    %s%n", entries.get(i));
            }
        }
    }
}

package bartleby.stream;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.springframework.amqp.support.AmqpHeaders;
import org.springframework.messaging.MessageHeaders;

/** What the application reads in headers, without a broker. */
class AttemptsTest {
    /** Broken if attempts were not counted, or a first delivery were taken for another. */
    @Test
    void readsBothCounts() {
        assertThat(Attempts.byDeaths(new MessageHeaders(Map.of()))).isZero();
        assertThat(Attempts.byHeader(new MessageHeaders(Map.of()))).isZero();
        assertThat(Attempts.byDeaths(new MessageHeaders(
                        Map.of("x-death", List.of(Map.of("count", 2L), Map.of("count", 7L))))))
                .isEqualTo(2);
        assertThat(Attempts.byHeader(new MessageHeaders(Map.of(AmqpHeaders.RETRY_COUNT, 2)))).isEqualTo(2);
    }
}

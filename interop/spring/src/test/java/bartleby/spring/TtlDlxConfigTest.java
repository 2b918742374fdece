package bartleby.spring;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.springframework.amqp.core.Queue;

/** What the application declares, without a broker. */
class TtlDlxConfigTest {
    /** Broken if the delay came from the queue: it must have no TTL, and its dead letters must reach dlx.queue. */
    @Test
    void delayQueueLeavesTheDelayToTheMessage() {
        TtlDlxConfig config = new TtlDlxConfig();
        Queue queue = config.delayQueue();
        assertThat(queue.isDurable()).isTrue();
        assertThat(queue.getArguments()).isEqualTo(Map.of(
                "x-dead-letter-exchange", config.dlxExchange().getName(),
                "x-dead-letter-routing-key", config.dlxBinding().getRoutingKey()));
    }
}

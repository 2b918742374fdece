package bartleby.spring;

import java.nio.charset.StandardCharsets;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.amqp.core.Message;
import org.springframework.amqp.core.MessageBuilder;
import org.springframework.amqp.rabbit.core.RabbitTemplate;
import org.springframework.stereotype.Service;

/** Sends messages that arrive later. */
@Service
public class DelayMessageService {
    private static final Logger LOG = LoggerFactory.getLogger(DelayMessageService.class);

    private final RabbitTemplate rabbitTemplate;

    public DelayMessageService(RabbitTemplate rabbitTemplate) {
        this.rabbitTemplate = rabbitTemplate;
    }

    public void send(String content, long delayMillis) {
        Message message = MessageBuilder.withBody(content.getBytes(StandardCharsets.UTF_8))
                .setContentType("text/plain")
                .setExpiration(String.valueOf(delayMillis))
                .build();
        rabbitTemplate.convertAndSend(TtlDlxConfig.NORMAL_EXCHANGE, TtlDlxConfig.DELAY_KEY, message);
        LOG.info("sent \"{}\", to arrive in {} ms", content, delayMillis);
    }
}

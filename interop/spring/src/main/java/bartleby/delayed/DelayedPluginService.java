package bartleby.delayed;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.amqp.rabbit.core.RabbitTemplate;
import org.springframework.stereotype.Service;

/** Sends messages that arrive later. */
@Service
public class DelayedPluginService {
    private static final Logger LOG = LoggerFactory.getLogger(DelayedPluginService.class);

    private final RabbitTemplate rabbitTemplate;

    public DelayedPluginService(RabbitTemplate rabbitTemplate) {
        this.rabbitTemplate = rabbitTemplate;
    }

    public void send(String content, long delayMillis) {
        rabbitTemplate.convertAndSend(DelayedPluginConfig.DELAYED_EXCHANGE, DelayedPluginConfig.DELAYED_KEY, content,
                message -> {
                    message.getMessageProperties().setDelayLong(delayMillis);
                    return message;
                });
        LOG.info("sent \"{}\", to arrive in {} ms", content, delayMillis);
    }
}

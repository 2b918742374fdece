package bartleby.spring;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/** Delays messages with nothing but an expiration and a dead-letter exchange. */
@SpringBootApplication
public class DelayApplication {
    public static void main(String[] args) {
        SpringApplication.run(DelayApplication.class, args);
    }
}

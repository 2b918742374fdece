package bartleby.delayed;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/** Delays messages with an exchange of the type x-delayed-message. */
@SpringBootApplication
public class DelayedApplication {
    public static void main(String[] args) {
        SpringApplication.run(DelayedApplication.class, args);
    }
}

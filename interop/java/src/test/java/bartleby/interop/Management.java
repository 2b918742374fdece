package bartleby.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.Base64;

/** The management API, as the user of the AMQP URL. Paths begin after /api. */
final class Management {
    private static final HttpClient CLIENT = HttpClient.newHttpClient();
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String CREDENTIALS = "Basic " + Base64.getEncoder()
            .encodeToString(Target.AMQP_URL.getUserInfo().getBytes(StandardCharsets.UTF_8));

    private Management() {}

    static JsonNode get(String path) throws IOException, InterruptedException {
        HttpResponse<String> response = send(request(path).GET());
        assertEquals(200, response.statusCode(), path);
        return JSON.readTree(response.body());
    }

    static void put(String path, String json) throws IOException, InterruptedException {
        HttpResponse<String> response = send(request(path)
                .header("Content-Type", "application/json").PUT(BodyPublishers.ofString(json)));
        assertTrue(response.statusCode() / 100 == 2, () -> path + ": " + response.statusCode() + response.body());
    }

    static void delete(String path) throws IOException, InterruptedException {
        HttpResponse<String> response = send(request(path).DELETE());
        assertEquals(204, response.statusCode(), path);
    }

    private static HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(URI.create(Target.MANAGEMENT_URL + "/api" + path))
                .header("Authorization", CREDENTIALS);
    }

    private static HttpResponse<String> send(HttpRequest.Builder request) throws IOException, InterruptedException {
        return CLIENT.send(request.build(), BodyHandlers.ofString(StandardCharsets.UTF_8));
    }
}

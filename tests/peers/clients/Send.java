import java.util.List;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.MessagesApi;
import org.openapitools.client.model.SendRequest;

class Send {
    static void expect(boolean holds, String what) {
        if (!holds) throw new AssertionError(what);
    }

    public static void main(String[] arguments) throws Exception {
        ApiClient client = new ApiClient();
        client.updateBaseUri(arguments[0]);
        String secret = java.util.Base64.getEncoder().encodeToString("demo:demo-api-key".getBytes());
        client.setRequestInterceptor(request -> request.header("Authorization", "Basic " + secret));
        MessagesApi messages = new MessagesApi(client);
        SendRequest wanted = new SendRequest().to(List.of("491701234567")).from("Helio").content("Hello").dlr(true);
        String id = messages.sendMessage(wanted, null).getId();
        expect("491701234567".equals(messages.getMessage(id, null, null, null, null).getTo()), "another number");
        expect(messages.listMessages(null, null, null, null, 2, true, null, null).getCount() == 1, "another count");
        try {
            messages.cancelMessage(id, null);
            expect(false, "it was cancelled");
        } catch (ApiException refused) {
            expect(refused.getCode() == 409, refused.getMessage());
        }
        System.out.println(id);
    }
}

<?php
// Sends a message and asks what became of it. It needs nothing but PHP 8.1 or newer.
//
//   HELIOGRAPH_URL=https://sms.example.net HELIOGRAPH_USER=acme HELIOGRAPH_API_KEY=... \
//     php client.php 491701234567 'Hello, world' [URL for the receipt]

declare(strict_types=1);

final class Refused extends RuntimeException
{
}

final class Heliograph
{
    private readonly string $authorization;

    public function __construct(private readonly string $url, string $user, string $apiKey)
    {
        $this->authorization = 'Basic ' . base64_encode("$user:$apiKey");
    }

    /** What it would cost. Nothing is sent. */
    public function quote(array $fields): array
    {
        return $this->call('POST', '/api/v1/messages/quote', $fields);
    }

    /** Sends it once, however often the connection breaks: all tries carry the same reference. */
    public function send(array $fields): array
    {
        return $this->call('POST', '/api/v1/messages', ['reference' => bin2hex(random_bytes(16))] + $fields, 5);
    }

    public function get(string $id): array
    {
        return $this->call('GET', "/api/v1/messages/$id");
    }

    /** Takes back a scheduled one, and its price. */
    public function cancel(string $id): array
    {
        return $this->call('DELETE', "/api/v1/messages/$id", null, 5);
    }

    public function balance(): string
    {
        return $this->call('POST', '/api/v1/account/balance')['Message'];
    }

    private function call(string $method, string $path, ?array $fields = null, int $tries = 1): array
    {
        $context = stream_context_create(['http' => [
            'method' => $method,
            'header' => ["Authorization: $this->authorization", 'Content-Type: application/json', 'Connection: close'],
            'content' => $fields === null ? '' : json_encode($fields, JSON_THROW_ON_ERROR),
            'timeout' => 30,
            'ignore_errors' => true,
        ]]);
        for ($pause = 1; ; $pause++) {
            $body = @file_get_contents(rtrim($this->url, '/') . $path, false, $context);
            $status = $body === false ? 0 : (int) explode(' ', $http_response_header[0])[1];
            if ($status === 200) {
                return json_decode($body, true, flags: JSON_THROW_ON_ERROR);
            }
            if (!in_array($status, [0, 429, 503, 504], true) || $pause === $tries) {
                $answer = json_decode((string) $body, true);
                throw new Refused("$status " . ($answer['Status'] ?? '') . ': ' . ($answer['Message'] ?? 'no answer'));
            }
            sleep($pause);
        }
    }
}

if ($argc < 3 || !getenv('HELIOGRAPH_URL') || !getenv('HELIOGRAPH_USER') || !getenv('HELIOGRAPH_API_KEY')) {
    fwrite(STDERR, "HELIOGRAPH_URL=... HELIOGRAPH_USER=... HELIOGRAPH_API_KEY=... php client.php NUMBER TEXT [RECEIPT_URL]\n");
    exit(2);
}
[, $to, $content] = $argv;
$gateway = new Heliograph(getenv('HELIOGRAPH_URL'), getenv('HELIOGRAPH_USER'), getenv('HELIOGRAPH_API_KEY'));
$message = ['to' => $to, 'from' => 'Heliograph', 'content' => $content];
try {
    $quote = $gateway->quote($message);
    echo "costs {$quote['Rate']} in {$quote['Segments']} {$quote['Encoding']}\n";
    $sent = $gateway->send($message + (isset($argv[3]) ? ['dlr' => 'yes', 'dlr-url' => $argv[3]] : []));
    echo "sent {$sent['Id']}\n";
    echo "status {$gateway->get($sent['Id'])['Status']}\n";
    $later = $gateway->send($message + ['time' => time() + 3600]);
    $gateway->cancel($later['Id']);
    echo "cancelled {$later['Id']}\n";
    echo "balance {$gateway->balance()}\n";
} catch (Refused $refused) {
    fwrite(STDERR, $refused->getMessage() . "\n");
    exit(1);
}

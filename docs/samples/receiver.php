<?php
// Takes receipts, messages from phones and notices, once each, and only genuine ones. It needs nothing but PHP 8.1 or newer.
//
//   HELIOGRAPH_SIGNING_SECRET=whsec_... php -S 127.0.0.1:8081 receiver.php

declare(strict_types=1);

if (PHP_SAPI === 'cli') {
    fwrite(STDERR, "HELIOGRAPH_SIGNING_SECRET=whsec_... php -S 127.0.0.1:8081 receiver.php\n");
    exit(2);
}

function genuine(string $key, string $identity, string $moment, string $signatures, string $body): bool
{
    if (preg_match('/^\d+$/D', $moment) !== 1 || abs(time() - (int) $moment) > 300) {
        return false;
    }
    $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$identity.$moment.$body", $key, true));
    foreach (explode(' ', $signatures) as $given) {
        if (hash_equals($expected, $given)) {
            return true;
        }
    }
    return false;
}

function read_fields(string $type, string $body): array
{
    if (str_starts_with($type, 'application/json')) {
        return json_decode($body, true, 8, JSON_THROW_ON_ERROR);
    }
    parse_str($body, $fields);
    return $fields;
}

function take(array $fields): string
{
    if (isset($fields['message_status'])) {
        return "receipt {$fields['id']} {$fields['message_status']} {$fields['err']}\n";
    }
    if (isset($fields['from'])) {
        return "inbound {$fields['from']} {$fields['to']} {$fields['content']}\n";
    }
    if (($fields['type'] ?? '') === 'account.low_balance') {
        return "low balance {$fields['account']} {$fields['balance']}\n";
    }
    return '';
}

$key = base64_decode(preg_replace('/^whsec_/', '', (string) getenv('HELIOGRAPH_SIGNING_SECRET')));
$identity = $_SERVER['HTTP_WEBHOOK_ID'] ?? '';
$moment = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
$body = (string) file_get_contents('php://input');
if (!genuine($key, $identity, $moment, $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '', $body)) {
    http_response_code(401);
    return;
}
// In a real program: a row of a table, written in the transaction that uses the fields.
$line = take(read_fields($_SERVER['CONTENT_TYPE'] ?? '', $body));
$seen = sys_get_temp_dir() . '/heliograph-receipt-' . hash('sha256', $identity);
$first = @fopen($seen, 'x'); // the same comes again if our answer was lost
if ($first !== false) {
    fclose($first);
    file_put_contents('php://stdout', $line);
}
http_response_code(204);

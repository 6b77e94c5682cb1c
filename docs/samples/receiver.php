<?php
// Takes receipts, once each, and only genuine ones. It needs nothing but PHP 8.1 or newer.
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

$key = base64_decode(preg_replace('/^whsec_/', '', (string) getenv('HELIOGRAPH_SIGNING_SECRET')));
$identity = $_SERVER['HTTP_WEBHOOK_ID'] ?? '';
$moment = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
$body = (string) file_get_contents('php://input');
if (!genuine($key, $identity, $moment, $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '', $body)) {
    http_response_code(401);
    return;
}
// In a real program: a row of a table, written in the transaction that uses the receipt.
$seen = sys_get_temp_dir() . '/heliograph-receipt-' . hash('sha256', $identity);
$first = @fopen($seen, 'x'); // the same receipt comes again if our answer was lost
if ($first !== false) {
    fclose($first);
    parse_str($body, $receipt);
    file_put_contents('php://stdout', "receipt {$receipt['id']} {$receipt['message_status']} {$receipt['err']}\n");
}
http_response_code(204);

<?php
require 'GuzzleHttp/autoload.php';
spl_autoload_register(function ($name) {
    $file = __DIR__ . '/lib/' . str_replace(['OpenAPI\\Client\\', '\\'], ['', '/'], $name) . '.php';
    if (is_file($file)) {
        require $file;
    }
});

function expect(bool $holds, string $what): void
{
    if (!$holds) {
        throw new RuntimeException($what);
    }
}

$configuration = (new OpenAPI\Client\Configuration())->setHost($argv[1])->setUsername('demo')->setPassword('demo-api-key');
$messages = new OpenAPI\Client\Api\MessagesApi(new GuzzleHttp\Client(), $configuration);
$wanted = new OpenAPI\Client\Model\SendRequest(
    ['to' => ['491701234567'], 'from' => 'Helio', 'content' => 'Hello', 'dlr' => true]
);
$sent = $messages->sendMessage($wanted);
expect($messages->getMessage($sent->getId())->getTo() === '491701234567', 'another number');
expect($messages->listMessages(pending: true, limit: 2)->getCount() === 1, 'another count');
try {
    $messages->cancelMessage($sent->getId());
    expect(false, 'it was cancelled');
} catch (OpenAPI\Client\ApiException $refused) {
    expect($refused->getCode() === 409, $refused->getMessage());
}
echo $sent->getId(), "\n";

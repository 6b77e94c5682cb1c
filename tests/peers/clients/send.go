package main

import (
	"context"
	"fmt"
	"os"

	client "github.com/GIT_USER_ID/GIT_REPO_ID"
)

func expect(holds bool, what string) {
	if !holds {
		fmt.Fprintln(os.Stderr, what)
		os.Exit(1)
	}
}

func main() {
	configuration := client.NewConfiguration()
	configuration.Servers = client.ServerConfigurations{{URL: os.Args[1]}}
	messages := client.NewAPIClient(configuration).MessagesAPI
	who := context.WithValue(context.Background(), client.ContextBasicAuth,
		client.BasicAuth{UserName: "demo", Password: "demo-api-key"})
	wanted := client.NewSendRequest([]string{"491701234567"}, "Helio", "Hello")
	wanted.SetDlr(true)
	sent, _, err := messages.SendMessage(who).SendRequest(*wanted).Execute()
	expect(err == nil, fmt.Sprint(err))
	found, _, err := messages.GetMessage(who, sent.GetId()).Execute()
	expect(err == nil && found.GetTo() == "491701234567", fmt.Sprint(err))
	listed, _, err := messages.ListMessages(who).Pending(true).Limit(2).Execute()
	expect(err == nil && listed.GetCount() == 1, fmt.Sprint(err))
	_, refused, err := messages.CancelMessage(who, sent.GetId()).Execute()
	expect(err != nil && refused.StatusCode == 409, fmt.Sprint(err))
	fmt.Println(sent.GetId())
}

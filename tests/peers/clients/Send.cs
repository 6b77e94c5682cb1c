using System;
using System.Collections.Generic;
using Org.OpenAPITools.Api;
using Org.OpenAPITools.Client;
using Org.OpenAPITools.Model;

static class Send
{
    static void Expect(bool holds, string what)
    {
        if (!holds) throw new Exception(what);
    }

    static void Main(string[] arguments)
    {
        var configuration = new Configuration { BasePath = arguments[0], Username = "demo", Password = "demo-api-key" };
        var messages = new MessagesApi(configuration);
        var wanted = new SendRequest(to: new List<string> { "491701234567" }, from: "Helio", content: "Hello", dlr: true);
        string id = messages.SendMessage(wanted).Id;
        Expect(messages.GetMessage(id).To == "491701234567", "another number");
        Expect(messages.ListMessages(limit: 2, pending: true).Count == 1, "another count");
        try
        {
            messages.CancelMessage(id);
            Expect(false, "it was cancelled");
        }
        catch (ApiException refused)
        {
            Expect(refused.ErrorCode == 409, refused.Message);
        }
        Console.WriteLine(id);
    }
}

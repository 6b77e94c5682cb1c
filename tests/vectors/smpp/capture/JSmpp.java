import org.jsmpp.bean.*;
import org.jsmpp.session.*;

public class JSmpp {
    public static void main(String[] args) throws Exception {
        SMPPSession session = new SMPPSession();
        session.setEnquireLinkTimer(1000);
        session.setMessageReceiverListener(new MessageReceiverListener() {
            public void onAcceptDeliverSm(DeliverSm d) {}
            public void onAcceptAlertNotification(AlertNotification a) {}
            public DataSmResult onAcceptDataSm(DataSm d, Session s) { return null; }
        });
        session.connectAndBind("127.0.0.1", Integer.parseInt(args[0]), new BindParameter(BindType.BIND_TRX, "demo", "demosmpp", "VMA",
            TypeOfNumber.UNKNOWN, NumberingPlanIndicator.UNKNOWN, "4477*"));
        RegisteredDelivery asked = new RegisteredDelivery(SMSCDeliveryReceipt.SUCCESS_FAILURE);
        SubmitSmResult r = session.submitShortMessage("CMT", TypeOfNumber.ALPHANUMERIC, NumberingPlanIndicator.UNKNOWN, "Helio",
            TypeOfNumber.INTERNATIONAL, NumberingPlanIndicator.ISDN, "491701234567", new ESMClass(), (byte) 0, (byte) 1, null, "000001000000000R",
            asked, (byte) 0, new GeneralDataCoding(Alphabet.ALPHA_DEFAULT), (byte) 0, "Hello from jSMPP".getBytes("US-ASCII"));
        session.submitShortMessage("CMT", TypeOfNumber.INTERNATIONAL, NumberingPlanIndicator.ISDN, "3388",
            TypeOfNumber.INTERNATIONAL, NumberingPlanIndicator.ISDN, "491701234568", new ESMClass(), (byte) 0, (byte) 0, null, null,
            asked, (byte) 0, new GeneralDataCoding(Alphabet.ALPHA_UCS2), (byte) 0, "\u041f\u0440\u0438".getBytes("UTF-16BE"),
            new OptionalParameter.Sar_msg_ref_num((short) 258), new OptionalParameter.Sar_segment_seqnum((byte) 1), new OptionalParameter.Sar_total_segments((byte) 2));
        session.submitShortMessage("CMT", TypeOfNumber.UNKNOWN, NumberingPlanIndicator.UNKNOWN, "Helio",
            TypeOfNumber.INTERNATIONAL, NumberingPlanIndicator.ISDN, "491701234569", new ESMClass(), (byte) 0, (byte) 0, null, null,
            asked, (byte) 0, new GeneralDataCoding(Alphabet.ALPHA_DEFAULT), (byte) 0, new byte[0], new OptionalParameter.Message_payload("A long text".getBytes("US-ASCII")));
        session.queryShortMessage(r.getMessageId(), TypeOfNumber.ALPHANUMERIC, NumberingPlanIndicator.UNKNOWN, "Helio");
        try { session.cancelShortMessage("CMT", r.getMessageId(), TypeOfNumber.ALPHANUMERIC, NumberingPlanIndicator.UNKNOWN, "Helio",
            TypeOfNumber.INTERNATIONAL, NumberingPlanIndicator.ISDN, "491701234567"); } catch (Exception e) { System.err.println(e); }
        SubmitMultiResult m = session.submitMultiple("CMT", TypeOfNumber.ALPHANUMERIC, NumberingPlanIndicator.UNKNOWN, "Helio",
            new Address[] { new Address(TypeOfNumber.INTERNATIONAL, NumberingPlanIndicator.ISDN, "491701234561"),
                            new Address(TypeOfNumber.UNKNOWN, NumberingPlanIndicator.UNKNOWN, "+491701234562") },
            new ESMClass(), (byte) 0, (byte) 0, null, null, asked, new ReplaceIfPresentFlag(0), new GeneralDataCoding(Alphabet.ALPHA_DEFAULT), (byte) 0, "To two".getBytes("US-ASCII"));
        session.dataShortMessage("CMT", TypeOfNumber.ALPHANUMERIC, NumberingPlanIndicator.UNKNOWN, "Helio",
            TypeOfNumber.INTERNATIONAL, NumberingPlanIndicator.ISDN, "491701234563", new ESMClass(), asked, new GeneralDataCoding(Alphabet.ALPHA_DEFAULT),
            new OptionalParameter.Message_payload("By data_sm".getBytes("US-ASCII")));
        Thread.sleep(3000);
        session.unbindAndClose();
    }
}

# A message centre on Perl's Net::SMPP: accepts any bind, writes one message from a phone to each link that receives,
# takes each message, and sends its receipt at once.
#
#   perl smsc.pl [withhold]
#
# With `withhold` no receipts are sent, and query_sm tells the states.
# Writes a JSON object a line for what comes; the first says where it listens. Numbers that end in 1 are undelivered,
# with error 042.
use strict;
use warnings;
use IO::Select;
use JSON::PP;
use Net::SMPP;

$| = 1;
local $SIG{PIPE} = 'IGNORE';
my $withhold = @ARGV && $ARGV[0] eq 'withhold';
my $json = JSON::PP->new->canonical->latin1;
my $centre = Net::SMPP->new_listen('127.0.0.1', port => 0, smpp_version => 0x34) or die "cannot listen: $!";
my $watched = IO::Select->new($centre);
my %receives;
my %end_of;
my $taken = 0;

sub say_line { print $json->encode({@_}), "\n" }

sub end_for { return $_[0] =~ /1$/ ? ('UNDELIV', '042', 5) : ('DELIVRD', '000', 2) }

sub report {
    my ($pdu, $id) = @_;
    my ($receiver) = map { $_->{link} } values %receives;
    return say_line(event => 'nobody to report to') unless $receiver;
    my ($state, $err, $number) = end_for($pdu->{destination_addr});
    $receiver->deliver_sm(
        async => 1,
        source_addr_ton => $pdu->{dest_addr_ton}, source_addr_npi => $pdu->{dest_addr_npi},
        source_addr => $pdu->{destination_addr},
        dest_addr_ton => $pdu->{source_addr_ton}, dest_addr_npi => $pdu->{source_addr_npi},
        destination_addr => $pdu->{source_addr},
        esm_class => 0x04,
        short_message => "id:$id sub:001 dlvrd:001 submit date:2501020304 done date:2501020305 stat:$state err:$err text:",
        message_state => pack('C', $number),
        receipted_message_id => "$id\0",
    );
}

sub bind_with {
    my ($answer, $receiving) = @_;
    return sub {
        my ($link, $pdu) = @_;
        $link->set_version(0x34);
        $link->$answer(seq => $pdu->{seq}, system_id => 'perl');
        say_line(event => $answer, system_id => $pdu->{system_id}, password => $pdu->{password});
        return unless $receiving;
        $receives{fileno $link} = {link => $link};
        $link->deliver_sm(
            async => 1, source_addr => '447700900099', destination_addr => '3388', short_message => 'From a phone'
        );
    };
}

sub take {
    my ($link, $pdu) = @_;
    my $id = sprintf('perl-%d', ++$taken);
    my @told = qw(source_addr destination_addr esm_class data_coding registered_delivery);
    my %fields = map { $_ => $pdu->{$_} } @told;
    say_line(event => 'submit_sm', id => $id, %fields, text => unpack('H*', $pdu->{short_message}));
    $link->submit_sm_resp(seq => $pdu->{seq}, message_id => $id);
    $end_of{$id} = $pdu->{destination_addr};
    report($pdu, $id) if $pdu->{registered_delivery} & 1 && !$withhold;
}

sub query {
    my ($link, $pdu) = @_;
    say_line(event => 'query_sm', id => $pdu->{message_id}, source_addr => $pdu->{source_addr});
    my (undef, $err, $number) = end_for($end_of{$pdu->{message_id}} // '');
    $link->query_sm_resp(
        seq => $pdu->{seq}, message_id => $pdu->{message_id}, final_date => '250102030500000+',
        message_state => $number, error_code => $err + 0
    );
}

my %answers = (
    Net::SMPP::CMD_bind_transceiver() => bind_with('bind_transceiver_resp', 1),
    Net::SMPP::CMD_bind_receiver() => bind_with('bind_receiver_resp', 1),
    Net::SMPP::CMD_bind_transmitter() => bind_with('bind_transmitter_resp', 0),
    Net::SMPP::CMD_submit_sm() => \&take,
    Net::SMPP::CMD_query_sm() => \&query,
    Net::SMPP::CMD_enquire_link() => sub { $_[0]->enquire_link_resp(seq => $_[1]{seq}) },
    Net::SMPP::CMD_unbind() => sub { say_line(event => 'unbind'); $_[0]->unbind_resp(seq => $_[1]{seq}) },
    Net::SMPP::CMD_deliver_sm_resp() => sub { say_line(event => 'answered', status => $_[1]{status}) },
);

say_line(event => 'listening', port => $centre->sockport);
while (1) {
    for my $ready ($watched->can_read) {
        if ($ready == $centre) {
            my $link = $centre->accept or next;
            $watched->add($link);
            next;
        }
        my $pdu = $ready->read_pdu;
        if (!$pdu) {
            delete $receives{fileno $ready};
            $watched->remove($ready);
            close $ready;
            next;
        }
        my $answer = $answers{$pdu->{cmd}};
        if ($answer) { $answer->($ready, $pdu) }
        else { say_line(event => 'not known', command => $pdu->{cmd}) }
    }
}

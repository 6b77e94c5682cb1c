# Writes what Perl's Net::SMPP puts on the wire for the PDUs of intents.json that it has a method for: see ../README.md.
use strict;
use warnings;
use FindBin;
use JSON::PP;

package Captured;
use parent 'Net::SMPP';
our $octets;
sub syswrite { $octets = $_[1]; return length $octets }

package main;

my %octets_of = (
    sc_interface_version => sub { pack 'C', shift },
    congestion_state => sub { pack 'C', shift },
    message_state => sub { pack 'C', shift },
    ms_availability_status => sub { pack 'C', shift },
    delivery_failure_reason => sub { pack 'C', shift },
    receipted_message_id => sub { shift() . "\0" },
    additional_status_info_text => sub { shift() . "\0" },
    message_payload => sub { shift },
    network_error_code => sub { shift },
);
my %written = map { $_ => 1 } qw(
  bind_transmitter bind_receiver bind_transceiver bind_transmitter_resp bind_receiver_resp bind_transceiver_resp
  outbind unbind unbind_resp enquire_link enquire_link_resp generic_nack submit_sm submit_sm_resp deliver_sm
  deliver_sm_resp data_sm data_sm_resp query_sm query_sm_resp cancel_sm cancel_sm_resp replace_sm replace_sm_resp
  alert_notification
);

my $json = JSON::PP->new->canonical;
open my $file, '<', "$FindBin::Bin/intents.json" or die $!;
my $intents = $json->decode(do { local $/; <$file> });
my $link = Captured->new_listen('127.0.0.1', port => 0, smpp_version => 0x34) or die "cannot listen: $!";
my @rows;
for my $intent (@$intents) {
    my ($command, $tlvs) = ($intent->{command}, $intent->{tlvs} || {});
    next if !$written{$command} || grep { !$octets_of{$_} } keys %$tlvs;
    my @given = (seq => $intent->{sequence}, async => 1);
    push @given, status => $intent->{status} if $intent->{status};
    for my $name (sort keys %{$intent->{fields}}) {
        my $value = $intent->{fields}{$name};
        push @given, $name => ref $value ? pack('H*', $value->{hex}) : $value;
    }
    for my $name (sort keys %$tlvs) {
        my $value = $tlvs->{$name};
        push @given, $name => $octets_of{$name}->(ref $value ? pack('H*', $value->{hex}) : $value);
    }
    undef $Captured::octets;
    eval { $link->$command(@given); 1 } or warn "$command $intent->{sequence}: $@";
    push @rows, {%$intent, hex => unpack('H*', $Captured::octets)} if defined $Captured::octets;
}
print "[\n", join(",\n", map { '  ' . $json->encode($_) } @rows), "\n]\n";

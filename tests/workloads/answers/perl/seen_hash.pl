#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# A crawler that remembers each address it has seen, with its headers.
use strict;
use warnings;
use Time::HiRes qw(time sleep);

my %seen;
my $per_second = 5000;

sub remember {
    my ($number) = @_;
    $seen{"http://host$number.example/"} = { status => 200, headers => [map { "header $_ of $number" } 1 .. 8] };
}

my ($begin, $number) = (time, 0);
while (1) {
    remember($number++) while $number < (time() - $begin) * $per_second;
    sleep 0.02;
}

// SPDX-License-Identifier: Apache-2.0

// A shop on grpc-go: one service of five methods, two interceptors of its own.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"example.org/shop/internal/app"
	"example.org/shop/internal/report"
	"example.org/shop/internal/search"
	"example.org/shop/internal/shoppb"
	"example.org/shop/internal/store"
)

type server struct {
	orders   *store.Table[*structpb.Struct]
	batches  *store.Queue[[]map[string]any]
	sessions *store.Sessions
	reviews  *search.Index
	reports  *report.Reports
}

func (s *server) PlaceOrder(_ context.Context, order *structpb.Struct) (*wrapperspb.StringValue, error) {
	if len(order.GetFields()) == 0 {
		return nil, status.Error(codes.InvalidArgument, "an empty order")
	}
	return wrapperspb.String(s.orders.Put(order)), nil
}

func (s *server) Collect(_ context.Context, events *structpb.ListValue) (*wrapperspb.Int64Value, error) {
	batch := []map[string]any{}
	for _, event := range events.GetValues() {
		batch = append(batch, event.GetStructValue().AsMap())
	}
	s.batches.Push(batch)
	return wrapperspb.Int64(int64(len(batch))), nil
}

func (s *server) Login(_ context.Context, user *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
	return wrapperspb.String(s.sessions.Open(user.GetValue())), nil
}

func (s *server) Review(_ context.Context, text *wrapperspb.StringValue) (*wrapperspb.Int64Value, error) {
	return wrapperspb.Int64(int64(s.reviews.Add(text.GetValue()))), nil
}

func (s *server) Report(_ context.Context, month *wrapperspb.StringValue) (*wrapperspb.BytesValue, error) {
	return wrapperspb.Bytes(s.reports.Sales(month.GetValue())), nil
}

func logged(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	answer, err := handler(ctx, request)
	if err != nil {
		log.Print(info.FullMethod, ": ", err)
	}
	return answer, err
}

func authorized(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	values := metadata.ValueFromIncomingContext(ctx, "authorization")
	if len(values) != 1 || !app.Authorized(values[0]) {
		return nil, status.Error(codes.Unauthenticated, "no token")
	}
	return handler(ctx, request)
}

// call is one that the client repeats; each has another argument.
func call(connection *grpc.ClientConn, method string, argument func(int) proto.Message, answer func() proto.Message) func() error {
	count := 0
	ctx := metadata.AppendToOutgoingContext(context.Background(), "authorization", "Bearer 9a0f6b")
	return func() error {
		count++
		return connection.Invoke(ctx, "/shop.Shop/"+method, argument(count), answer())
	}
}

func fixed(value proto.Message) func(int) proto.Message {
	return func(int) proto.Message { return value }
}

func text() proto.Message   { return new(wrapperspb.StringValue) }
func number() proto.Message { return new(wrapperspb.Int64Value) }
func data() proto.Message   { return new(wrapperspb.BytesValue) }

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	s := &server{
		orders:   store.NewTable[*structpb.Struct](app.Keep("PlaceOrder")),
		batches:  store.NewQueue(app.Keep("Collect"), func(events []map[string]any) { _ = len(events) }),
		sessions: store.NewSessions(app.Keep("Login")),
		reviews:  search.New(app.Keep("Review")),
		reports:  report.New(store.NewCache(app.Keep("Report"))),
	}
	g := grpc.NewServer(grpc.ChainUnaryInterceptor(logged, authorized))
	shoppb.RegisterShopServer(g, s)
	listener, address := app.Listen()
	go func() { log.Fatal(g.Serve(listener)) }()

	c := must(grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials())))
	order, events := map[string]any{}, []any{}
	if json.Unmarshal(app.OrderBody(), &order) != nil || json.Unmarshal(app.EventsBody(), &events) != nil {
		log.Fatal("payloads are not JSON")
	}
	month := func(n int) proto.Message { return wrapperspb.String(fmt.Sprint(n)) }
	review := wrapperspb.String(string(app.TextBody()))
	const pb = "example.org/shop/internal/shoppb._Shop_"
	app.Run(address, []app.Call{
		{Endpoint: "PlaceOrder", Names: []any{s.PlaceOrder, pb + "PlaceOrder_Handler", "Shop/PlaceOrder"}, Do: call(c, "PlaceOrder", fixed(must(structpb.NewStruct(order))), text)},
		{Endpoint: "Collect", Names: []any{s.Collect, pb + "Collect_Handler", "Shop/Collect"}, Do: call(c, "Collect", fixed(must(structpb.NewList(events))), number)},
		{Endpoint: "Login", Names: []any{s.Login, pb + "Login_Handler", "Shop/Login"}, Do: call(c, "Login", fixed(wrapperspb.String("maria")), text)},
		{Endpoint: "Review", Names: []any{s.Review, pb + "Review_Handler", "Shop/Review"}, Do: call(c, "Review", fixed(review), number)},
		{Endpoint: "Report", Names: []any{s.Report, pb + "Report_Handler", "Shop/Report"}, Do: call(c, "Report", month, data)},
	})
}
